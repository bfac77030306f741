target triple = "nvptx64-nvidia-cuda"

; 6 << (64 * (words & 1)): the high half is 0 or 6.
define ptx_kernel void @shift(i32 %words, ptr %out) {
  %bits = shl i32 %words, 6
  %amount = and i32 %bits, 64
  %wide = zext nneg i32 %amount to i128
  %shifted = shl nuw nsw i128 6, %wide
  store i128 %shifted, ptr %out, align 16
  ret void
}
