// Package lifecycle tests the VNF lifecycle management endpoint on a real API server.
package lifecycle
