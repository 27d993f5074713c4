package storetest

var engineTests, raceTests []test
