// Package lifecycle has tests that run Slipway's packages as OpenStack Tacker does, on a
// real API server.
package lifecycle
