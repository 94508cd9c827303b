// Package backup measures backups of a management cluster with a thousand workload
// clusters.
package backup
