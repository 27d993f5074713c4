// Package machines holds machines of well-known systems, written in the
// language of fsmgen from public documents. README.md says where each comes
// from, how large it is and what had to be resolved.
package machines

//go:generate go tool fsmgen gen batchjob.yaml --engine-tests
//go:generate go tool fsmgen gen checkrun.yaml --engine-tests
//go:generate go tool fsmgen gen container.yaml --engine-tests
//go:generate go tool fsmgen gen obanjob.yaml --engine-tests
//go:generate go tool fsmgen gen paymentintent.yaml --engine-tests
//go:generate go tool fsmgen gen pod.yaml --engine-tests
//go:generate go tool fsmgen gen riverjob.yaml --engine-tests
//go:generate go tool fsmgen gen stream.yaml --engine-tests
//go:generate go tool fsmgen gen taskinstance.yaml --engine-tests
