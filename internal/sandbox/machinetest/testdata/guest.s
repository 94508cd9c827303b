# The smallest system that a cloud can deal with: it says that it runs, switches
# itself off when its power button is pressed, and lets go of devices.
# The ports are those of QEMU's machine type pc: docs/specs/acpi_pci_hotplug, and
# SeaBIOS' address of the power management registers.
.code16
.globl _start
_start:
  cld
  xor %ax,%ax
  mov %ax,%ds
  mov $0x602,%dx     # PM1 enable: the power button is wanted
  mov $0x100,%ax
  outw %ax,%dx
  mov $text,%si
  mov $0x3f8,%dx
1: lodsb
  test %al,%al
  jz 2f
  outb %al,%dx
  jmp 1b
2:
wait:
  sti
  hlt
  mov $0x600,%dx     # PM1 status; bit 8 is the power button
  inw %dx,%ax
  test $1,%ah
  jnz off
  mov $0xae04,%dx    # slots whose device is to go
  inl %dx,%eax
  test %eax,%eax
  jz wait
  mov $0xae08,%dx    # eject
  outl %eax,%dx
  jmp wait
off:
  mov $0x604,%dx     # PM1 control: soft off
  mov $0x2000,%ax
  outw %ax,%dx
3: hlt
  jmp 3b
text: .asciz "guest runs\r\n"
