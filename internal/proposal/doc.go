// Package proposal finds the versions that a repository of environments pins, chooses newer
// ones that an upgrade may go to in one step, and puts the change on a branch.
//
// What it pins are addresses of bundles (oci://REGISTRY/REPOSITORY:v1.2.3, with or without a
// digest), images with the program, and spec.managementCluster.kubernetesVersion of
// environment files.
package proposal
