// Package machines runs Slipway on a devcloud that boots guests: a real Nova with
// QEMU, OVN, and volumes with bytes. SLIPWAY_DEVCLOUD_MACHINES names its folder;
// make devcloud-machines, and make devcloud-guests, start it, run tests, and end it.
package machines
