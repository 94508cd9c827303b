.code16
.globl _start
_start:
  cli
  cld
  xor %ax,%ax
  mov %ax,%ds
  mov %ax,%es
  mov %ax,%ss
  mov $0x7c00,%sp
  # page tables: PML4 0x1000, PDPT 0x2000, PD 0x3000 (2 MiB pages)
  mov $0x1000,%di
  xor %eax,%eax
  mov $0xc00,%cx
  rep stosl
  movl $0x2003,0x1000
  movl $0x3003,0x2000
  movl $0x83,0x3000
  lgdt gdtr
  mov %cr4,%eax
  or $0x20,%eax
  mov %eax,%cr4
  mov $0x1000,%eax
  mov %eax,%cr3
  mov $0xc0000080,%ecx
  rdmsr
  or $0x100,%eax
  wrmsr
  mov %cr0,%eax
  or $0x80000001,%eax
  mov %eax,%cr0
  ljmp $8,$long
.code64
long:
  mov $16,%eax
  mov %eax,%ds
  mov %eax,%es
  mov %eax,%ss
  mov $400000000,%ecx
1: dec %ecx
  jnz 1b
  # SLUB's freelist
  mov $0x5000,%edi
  xor %eax,%eax
  xor %edx,%edx
  mov $1,%ebx
  mov $2,%ecx
  movq %rax,(%rdi)
  movq %rax,8(%rdi)
  lock cmpxchg16b (%rdi)
  mov $text,%esi
  mov $0x3f8,%edx
2: lodsb
  out %al,%dx
  test %al,%al
  jnz 2b
3: hlt
  jmp 3b
text: .asciz "slipway\n"
.p2align 3
gdt: .quad 0
  .quad 0x00af9a000000ffff
  .quad 0x00cf92000000ffff
gdtr: .word 23
  .long gdt
