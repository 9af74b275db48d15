"""Pure work on text: words, scripts, likeness, dates, slugs. No input or output."""
