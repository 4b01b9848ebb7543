"""Options of commands: conversion, sharing, and what several commands do with them."""
