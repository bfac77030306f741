target triple = "nvptx64-nvidia-cuda"

; The ordering of a last-block reduction.
define ptx_kernel void @read_modify_write(ptr %counter, ptr %out) {
  %old = atomicrmw add ptr %counter, i32 1 acq_rel, align 4
  store i32 %old, ptr %out, align 4
  ret void
}
