// Package machines holds machines of well-known systems, written in the
// language of fsmgen from public documents. README.md says where each comes
// from, how large it is and what had to be resolved.
package machines

//go:generate go tool fsmgen gen batchjob.yaml
//go:generate go tool fsmgen gen checkrun.yaml
//go:generate go tool fsmgen gen container.yaml
//go:generate go tool fsmgen gen obanjob.yaml
//go:generate go tool fsmgen gen paymentintent.yaml
//go:generate go tool fsmgen gen pod.yaml
//go:generate go tool fsmgen gen riverjob.yaml
//go:generate go tool fsmgen gen stream.yaml
//go:generate go tool fsmgen gen taskinstance.yaml
