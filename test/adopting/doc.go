// Package adopting tests taking over clusters of others on a real Kubernetes API server:
// with the definitions of Cluster API, whose older version is converted as its own
// controllers do it, and with releases that Helm made.
package adopting
