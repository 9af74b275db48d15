"""What is wrong, found by looking only: `doctor` at the installation, `audit` at any folder of memories."""
