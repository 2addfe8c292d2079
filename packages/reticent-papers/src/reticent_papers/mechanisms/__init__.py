"""What only published algorithms do with raw data, beside reticent.mechanisms."""
