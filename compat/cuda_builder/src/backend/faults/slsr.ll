target triple = "nvptx64-nvidia-cuda"

; p - !c and p + 3 - c have different distances to p.
define ptx_kernel void @slsr(ptr %p, i1 %c, ptr %out) {
  %not = xor i1 %c, true
  %first = sext i1 %not to i64
  %a = getelementptr inbounds i64, ptr %p, i64 %first
  %x = load i64, ptr %a, align 8
  store i64 %x, ptr %out, align 8
  %three = getelementptr inbounds i8, ptr %p, i64 24
  %second = sext i1 %c to i64
  %b = getelementptr inbounds i64, ptr %three, i64 %second
  %y = load i64, ptr %b, align 8
  %next = getelementptr inbounds i8, ptr %out, i64 8
  store i64 %y, ptr %next, align 8
  ret void
}
