package view

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// ForOperation is a VnfLcmOpOcc.
func (l Links) ForOperation(o *v1alpha1.VNFOperation) Object {
	self := l.Operation(o.Name)
	d := Object{"id": o.Name, "operationState": string(o.Now()), "stateEnteredTime": Time(o.Entered()), "startTime": Time(o.CreationTimestamp),
		"vnfInstanceId": o.Spec.InstanceID, "operation": string(o.Spec.Operation), "isAutomaticInvocation": false, "isCancelPending": false}
	raw(d, "operationParams", o.Spec.Params)
	d["_links"] = Object{"self": href(self), "vnfInstance": href(l.Instance(o.Spec.InstanceID)), "retry": href(self + "/retry"), "rollback": href(self + "/rollback"), "fail": href(self + "/fail")}
	if o.Status.Error != nil {
		d["error"] = problem(o.Status.Error)
	}
	if len(o.Status.Affected) > 0 {
		d["resourceChanges"] = Object{"affectedVnfcs": affected(o.Status.Affected)}
	}
	if changed := changedInfo(o); changed != nil {
		d["changedInfo"] = changed
	}
	return normal(d)
}

func problem(p *v1alpha1.Problem) Object { return Object{"status": p.Status, "detail": p.Detail} }

func affected(all []v1alpha1.Affected) []Object {
	list := []Object{}
	for _, a := range all {
		one := resource(a.Machine)
		one["changeType"] = a.Change
		list = append(list, one)
	}
	return list
}

// changedInfo is what a completed change of information or package changed.
func changedInfo(o *v1alpha1.VNFOperation) Object {
	if o.Now() != v1alpha1.Completed || o.Spec.Params == nil {
		return nil
	}
	var asked Object
	if json.Unmarshal(o.Spec.Params.Raw, &asked) != nil {
		return nil
	}
	switch o.Spec.Operation {
	case v1alpha1.ModifyInfo:
		return asked
	case v1alpha1.ChangePackage:
		return Object{"vnfdId": asked["vnfdId"]}
	}
	return nil
}

// ForSubscription is an LccnSubscription, without what authenticates.
func (l Links) ForSubscription(s *v1alpha1.VNFSubscription) Object {
	d := Object{"id": s.Name, "callbackUri": s.Spec.CallbackURI, "verbosity": s.Spec.Verbosity, "_links": Object{"self": href(l.Subscription(s.Name))}}
	raw(d, "filter", s.Spec.Filter)
	return normal(d)
}

// Occurrence is the notification of an operation's new state.
func (l Links) Occurrence(s *v1alpha1.VNFSubscription, o *v1alpha1.VNFOperation, e v1alpha1.Event) Object {
	status := "RESULT"
	if e.State == v1alpha1.Starting || o.Spec.Operation == v1alpha1.ModifyInfo && e.State == v1alpha1.Processing {
		status = "START"
	}
	d := Object{"id": e.ID, "notificationType": "VnfLcmOperationOccurrenceNotification", "subscriptionId": s.Name, "timeStamp": Time(e.At), "notificationStatus": status,
		"operationState": string(e.State), "vnfInstanceId": o.Spec.InstanceID, "operation": string(o.Spec.Operation), "isAutomaticInvocation": false,
		"verbosity": s.Spec.Verbosity, "vnfLcmOpOccId": o.Name,
		"_links": Object{"vnfInstance": href(l.Instance(o.Spec.InstanceID)), "subscription": href(l.Subscription(s.Name)), "vnfLcmOpOcc": href(l.Operation(o.Name))}}
	if e.Error != nil {
		d["error"] = problem(e.Error)
	}
	if s.Spec.Verbosity == "FULL" && e.State == o.Now() {
		if len(o.Status.Affected) > 0 {
			d["affectedVnfcs"] = affected(o.Status.Affected)
		}
		if changed := changedInfo(o); changed != nil {
			d["changedInfo"] = changed
		}
	}
	return d
}

// Identifier is the notification that an instance was created or deleted.
func (l Links) Identifier(s *v1alpha1.VNFSubscription, kind, id, instance string, at metav1.Time) Object {
	return Object{"id": id, "notificationType": kind, "subscriptionId": s.Name, "timeStamp": Time(at), "vnfInstanceId": instance,
		"_links": Object{"vnfInstance": href(l.Instance(instance)), "subscription": href(l.Subscription(s.Name))}}
}
