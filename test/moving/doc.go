// Package moving tests moving in from Magnum on a real Kubernetes API server: with
// the definitions of Cluster API, a Helm release, a dump of Magnum's database, and
// what the real magnum-api answers on that database.
package moving
