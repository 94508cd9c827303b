package v1alpha1

import (
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Now is the state as clients see it: an operation that the endpoint has not looked at
// yet has been accepted.
func (o *VNFOperation) Now() OperationState {
	switch {
	case o.Status.State != "":
		return o.Status.State
	case o.Spec.Operation == ModifyInfo:
		return Processing
	}
	return Starting
}

// Entered is when that state began.
func (o *VNFOperation) Entered() metav1.Time {
	if o.Status.Entered != nil {
		return *o.Status.Entered
	}
	return o.CreationTimestamp
}

// Enter changes the state: nobody works on it, and subscribers are going to be told.
func (o *VNFOperation) Enter(state OperationState, problem *Problem, at metav1.Time) {
	s := &o.Status
	s.State, s.Entered, s.Worker, s.Error, s.Waiting = state, &at, "", problem, ""
	if problem != nil {
		s.Failure = problem
	}
	s.Outbox = append(s.Outbox, Event{ID: uuid.NewString(), State: state, At: at, Error: problem})
}

// Look fills in what an instance is when no operation has changed it yet.
func (i *VNFInstance) Look() {
	if i.Status.State == "" {
		i.Status.State, i.Status.Identity = NotInstantiated, *i.Spec.Identity.DeepCopy()
	}
}

// Diff is what happened to machines between two looks. One that stayed is modified if
// the operation touches what is there.
func Diff(before, after []Machine, touches bool) []Affected {
	known := map[string]Machine{}
	for _, m := range before {
		known[m.Name] = m
	}
	var all []Affected
	for _, m := range after {
		_, old := known[m.Name]
		delete(known, m.Name)
		switch {
		case !old:
			all = append(all, Affected{m, "ADDED"})
		case touches:
			all = append(all, Affected{m, "MODIFIED"})
		}
	}
	for _, m := range before {
		if _, gone := known[m.Name]; gone {
			all = append(all, Affected{m, "REMOVED"})
		}
	}
	return all
}
