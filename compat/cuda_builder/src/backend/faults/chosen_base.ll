target triple = "nvptx64-nvidia-cuda"

@TABLE = internal constant [4 x i64] [i64 2, i64 3, i64 5, i64 7], align 8
@TILE = internal global [4 x i64] undef, align 8, section ".shared"

; TABLE[index] or TILE[index]
define ptx_kernel void @choose(i32 %choice, i64 %index, ptr %out) {
  %listed = getelementptr i64, ptr @TABLE, i64 %index
  %shared = getelementptr i64, ptr @TILE, i64 %index
  store i64 %index, ptr %shared, align 8
  %some = icmp eq i32 %choice, 0
  %at = select i1 %some, ptr %listed, ptr %shared
  %value = load i64, ptr %at, align 8
  store i64 %value, ptr %out, align 8
  ret void
}
