"""The command line: one module per verb. A verb parses, calls one function and prints."""
