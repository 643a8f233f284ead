"""Tests of how rules report mistakes."""

load("@bazel_skylib//lib:unittest.bzl", "asserts", "unittest")
load("//rules/private:mistakes.bzl", "first_mistake")
load("//rules/private:prebuilt.bzl", "fail_arguments")

def _mistakes_impl(ctx):
    env = unittest.begin(ctx)
    for bazel, parameter in {
        "": False,  # built from a checkout of Bazel
        "10.0.0-pre.20260801.1": True,
        "7.7.1": False,
        "8.10.0": False,
        "9.0.2": False,
        "9.1.0": True,
        "9.1.0rc2": True,
    }.items():
        want = {"stack_trace": False} if parameter else {}
        asserts.equals(env, want, fail_arguments(bazel), bazel)
    asserts.equals(env, "b", first_mistake([None, "b", "c"]))
    asserts.equals(env, None, first_mistake([None]))
    return unittest.end(env)

mistakes_test = unittest.make(_mistakes_impl)
