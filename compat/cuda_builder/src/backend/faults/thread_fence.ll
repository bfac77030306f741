target triple = "nvptx64-nvidia-cuda"

; compiler_fence(SeqCst)
define ptx_kernel void @thread_fence(ptr %out) {
  store volatile i32 1, ptr %out, align 4
  fence syncscope("singlethread") seq_cst
  store volatile i32 2, ptr %out, align 4
  ret void
}
