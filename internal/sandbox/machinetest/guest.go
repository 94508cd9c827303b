package machinetest

// guest is a boot sector (testdata/guest.s): a system that says that it runs, switches
// itself off by its power button, and lets go of devices.
const guest = "\xfc\x31\xc0\x8e\xd8\xba\x02\x06\xb8\x00\x01\xef\xbe\x40\x7c\xba\xf8\x03\xac\x84\xc0\x74\x03\xee" +
	"\xeb\xf8\xfb\xf4\xba\x00\x06\xed\xf6\xc4\x01\x75\x11\xba\x04\xae\x66\xed\x66\x85\xc0\x74\xeb\xba" +
	"\x08\xae\x66\xef\xeb\xe4\xba\x04\x06\xb8\x00\x20\xef\xf4\xeb\xfd\x67\x75\x65\x73\x74\x20\x72\x75" +
	"\x6e\x73\x0d\x0a\x00"

// GuestSays is what the guest prints to its serial port.
const GuestSays = "guest runs"

// Guest is a raw image of so many bytes, 512 or more, with the smallest system that a
// cloud can deal with: it boots by BIOS in a moment, also where the processor is
// emulated.
func Guest(size int) []byte {
	disk := make([]byte, size)
	copy(disk, guest)
	disk[510], disk[511] = 0x55, 0xaa
	return disk
}
