// Package recovery brings the objects of a backup back into a new management cluster
// and proves that nothing in the cloud changes when its controllers start.
//
// Everything here is a function of values: the snapshot, the objects of the cluster
// and what the cloud lists. So a rebuild, a drill and a test run the same code.
// Package restore writes the objects, package site reads the cloud.
package recovery
