"""The patch format: what is written (`grammar`), where it goes (`locate`), what comes of it (`overlay`)."""
