// Package magnum tries Slipway's Magnum endpoint with a real Keystone, and
// measures it beside OpenStack's magnum-api on the same machine: make bench-magnum.
// make bench-fleet measures it and its controllers alone, with a thousand clusters, and
// a management cluster of as many with all that runs on one.
package magnum
