// Package magnum tries Slipway's Magnum endpoint with a real Keystone, and
// measures it beside OpenStack's magnum-api on the same machine: make bench-magnum.
package magnum
