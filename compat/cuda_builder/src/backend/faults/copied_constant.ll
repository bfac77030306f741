target triple = "nvptx64-nvidia-cuda"

@TABLE = internal constant [4 x i32] [i32 10, i32 20, i32 30, i32 40], align 4

; A local array that is only ever a copy of a constant.
define ptx_kernel void @copied_constant(i64 %index, ptr %out) {
  %copy = alloca [4 x i32], align 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %copy, ptr align 4 @TABLE, i64 16, i1 false)
  %local = addrspacecast ptr %copy to ptr addrspace(5)
  %element = getelementptr inbounds i32, ptr addrspace(5) %local, i64 %index
  %value = load i32, ptr addrspace(5) %element, align 4
  store i32 %value, ptr %out, align 4
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
