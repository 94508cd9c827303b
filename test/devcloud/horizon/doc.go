// Package horizon signs in to Horizon on a devcloud and uses its panels for Magnum on Slipway's
// endpoint, in Chromium: make devcloud-horizon.
package horizon
