package faults

import "slices"

// cases are all planted faults. A new one is about ten lines in the file of its layer.
func cases() []planted {
	return slices.Concat(serverCases(), quotaCases(), imageCases(), networkCases(), balancerCases(), identityCases(), bootCases(), deleteCases(), clusterCases(), nodeCases(), addonCases(), apiCases(), insideCases(), podCases(), eventCases(), moreCases(), changedCases(), novaCases(), wholeCases(), rareCases())
}
