target triple = "nvptx64-nvidia-cuda"

; The position of the first zero in bytes a..8 + b of shared memory: the loop must know its length 8 + b - a, also where b < a.
define ptx_kernel void @loop_length(ptr addrspace(3) %base, i64 %x, i64 %y, ptr addrspace(1) %out) {
  %b = and i64 %x, 7
  %a = and i64 %y, 7
  %to = or disjoint i64 %b, 8
  %to32 = trunc nuw nsw i64 %to to i32
  %end = getelementptr inbounds nuw i8, ptr addrspace(3) %base, i32 %to32
  %length = sub nuw nsw i64 %to, %a
  %from32 = trunc nuw nsw i64 %a to i32
  %start = getelementptr inbounds nuw i8, ptr addrspace(3) %base, i32 %from32
  %second = getelementptr inbounds nuw i8, ptr addrspace(3) %start, i32 1
  br label %loop

loop:
  %next = phi ptr addrspace(3) [ %after, %more ], [ %second, %0 ]
  %position = phi i64 [ %position1, %more ], [ 0, %0 ]
  %at = phi ptr addrspace(3) [ %next, %more ], [ %start, %0 ]
  %byte = load i8, ptr addrspace(3) %at, align 1
  %found = icmp eq i8 %byte, 0
  br i1 %found, label %hit, label %more

more:
  %position1 = add nuw nsw i64 %position, 1
  %goes_on = icmp ne ptr addrspace(3) %next, %end
  %step = zext i1 %goes_on to i32
  %after = getelementptr inbounds nuw i8, ptr addrspace(3) %next, i32 %step
  br i1 %goes_on, label %loop, label %exit

hit:
  %inside = icmp samesign ult i64 %position, %length
  call void @llvm.assume(i1 %inside)
  br label %exit

exit:
  %result = phi i64 [ %position, %hit ], [ 99, %more ]
  store i64 %result, ptr addrspace(1) %out, align 8
  ret void
}

declare void @llvm.assume(i1)
