// Package moving moves clusters of Debian's Magnum with magnum-capi-helm to Slipway and back, on
// a devcloud, with a real k3s and Cluster API: make devcloud-moving.
package moving
