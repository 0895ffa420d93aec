"""Server-side apply and managedFields: who owns which field."""
