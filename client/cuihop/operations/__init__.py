"""The operations of a service, for the service, its clients and their documentation."""
