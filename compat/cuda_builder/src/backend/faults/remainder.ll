target triple = "nvptx64-nvidia-cuda"

; 1e10 % 3 is 1; the quotient has more bits than a mantissa.
define ptx_kernel void @remainder(float %x, float %y, ptr %out) {
  %rest = frem float %x, %y
  store float %rest, ptr %out, align 4
  ret void
}

; Stands for the function of cuda_std.
define float @cuda_std_frem_f32(float %x, float %y) {
  %rest = call float asm "copysign.f32 $0, $1, $2;", "=r,r,r"(float %x, float %y)
  ret float %rest
}
