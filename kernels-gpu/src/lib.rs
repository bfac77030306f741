//! tilewright's device kernels, compiled to PTX and, from the same source, for the host.
