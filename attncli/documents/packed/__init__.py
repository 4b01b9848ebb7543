"""Documents that are archives of XML files: docx, odt, epub."""
