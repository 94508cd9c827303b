// Package capo tries the Cluster API provider of the bundle, and the janitor
// after it, on a cloud where machines become ACTIVE but need not boot: on the
// devcloud whose folder SLIPWAY_DEVCLOUD names, else on the cloud that OS_CLOUD
// names, else on a sandbox of its own.
package capo
