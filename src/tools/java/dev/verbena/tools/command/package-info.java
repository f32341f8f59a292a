/**
 * What commands share: how they run and fail, options, both ends in one process, a device over UDP,
 * a connection.
 */
package dev.verbena.tools.command;
