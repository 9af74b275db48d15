"""What a proposed change of a memory must satisfy. No model, no input or output."""
