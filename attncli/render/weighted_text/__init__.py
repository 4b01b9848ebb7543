"""Words coloured by their weight, as running text: one writer for each format."""
