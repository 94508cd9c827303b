// Package environment tries Slipway on a real OpenStack: its tests run on the
// devcloud whose folder SLIPWAY_DEVCLOUD names, by make devcloud-test.
package environment
