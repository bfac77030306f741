target triple = "nvptx64-nvidia-cuda"

@TILE = internal global [4 x i32] undef, section ".shared", align 4

; A reference into shared memory or none, chosen at run time, read where there is one and stored: none must be stored as 0.
define ptx_kernel void @null_reference(i1 %some, i64 %index, ptr %out) {
  %element = getelementptr inbounds i32, ptr @TILE, i64 %index
  %reference = select i1 %some, ptr %element, ptr null
  %none = icmp eq ptr %reference, null
  br i1 %none, label %end, label %read

read:
  %value = load volatile i32, ptr %reference, align 4
  %next = getelementptr inbounds i8, ptr %out, i64 8
  store i32 %value, ptr %next, align 4
  br label %end

end:
  store ptr %reference, ptr %out, align 8
  ret void
}
