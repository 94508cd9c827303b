package metadata

import "net"

// mask writes a prefix length as a mask of so many bits in all.
func mask(ones, bits int) string { return net.IP(net.CIDRMask(ones, bits)).String() }
