target triple = "nvptx64-nvidia-cuda"

@TABLE = internal addrspace(4) constant [8 x i8] c"\04\0B\0B @b  "

; TABLE[[3, 5, 0, 1][case]], by pointers
define ptx_kernel void @pick(i32 %case, ptr %out) {
start:
  switch i32 %case, label %end [
    i32 0, label %join
    i32 1, label %one
    i32 2, label %two
    i32 3, label %three
  ]
one:
  br label %join
two:
  br label %join
three:
  br label %join
join:
  %at = phi ptr addrspace(4) [ getelementptr (i8, ptr addrspace(4) @TABLE, i32 3), %start ],
    [ getelementptr (i8, ptr addrspace(4) @TABLE, i32 5), %one ], [ @TABLE, %two ],
    [ getelementptr (i8, ptr addrspace(4) @TABLE, i32 1), %three ]
  %value = load i8, ptr addrspace(4) %at
  store i8 %value, ptr %out
  br label %end
end:
  ret void
}
