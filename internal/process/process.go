// Package process is what differs between operating systems about this process
// and its children. Slipway is made for Linux; on others, what is here does as
// much as they can.
package process

import "syscall"

// Bound are the attributes of a child that ends with this process, however that
// ends, as far as the system can do that. A group of its own keeps Ctrl-C at the
// terminal from the child.
func Bound(group bool) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: group}
	bind(attributes)
	return attributes
}
