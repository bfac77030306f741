//! All that host and device must agree on: shapes, tile geometry, shared-memory layout, grid mapping, kernel arguments, variant table.
