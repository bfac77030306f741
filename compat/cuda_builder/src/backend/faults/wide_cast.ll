target triple = "nvptx64-nvidia-cuda"

declare i128 @llvm.fptoui.sat.i128.f32(float)

; `x as u128`
define ptx_kernel void @wide_cast(float %x, ptr %out) {
  %wide = call i128 @llvm.fptoui.sat.i128.f32(float %x)
  store i128 %wide, ptr %out, align 16
  ret void
}

; Stands for the function of cuda_std.
define i128 @cuda_std_f32_to_u128(float %x) {
  %low = call i64 asm "cvt.rni.u64.f32 $0, $1;", "=l,r"(float %x)
  %wide = zext i64 %low to i128
  ret i128 %wide
}
