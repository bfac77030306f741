target triple = "nvptx64-nvidia-cuda"

; compare_exchange on an atomic of the stack, whose address escapes.
define ptx_kernel void @local_exchange(i32 %x, ptr %out) {
  %slot = alloca i32, align 4
  store i32 %x, ptr %slot, align 4
  call void asm sideeffect "", "l,~{memory}"(ptr %slot)
  %pair = cmpxchg ptr %slot, i32 3, i32 5 seq_cst seq_cst, align 4
  %old = extractvalue { i32, i1 } %pair, 0
  store i32 %old, ptr %out, align 4
  ret void
}
