//! The embedded adapters of all ports: fjall, SQLite, files.
