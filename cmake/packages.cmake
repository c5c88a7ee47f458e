# The Debian packages, made by `cpack` from the components that install rules name. A package is one block of this file.
# Configure with the preset `package`: paths depend on the prefix (GNUInstallDirs).
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # packages are made of what was built, not of everything
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ravelin)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_VENDOR Ravelin)
set(CPACK_PACKAGE_CONTACT "Ravelin maintainers <ravelin@packages.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

# What Debian wants beside every package's files (policy 12.5, 12.7).
function(ravelin_package_documents component package)
  set(changelog ${CMAKE_CURRENT_BINARY_DIR}/packages/${package}/changelog)
  file(READ ${CMAKE_SOURCE_DIR}/deploy/debian/changelog.in text)
  string(CONFIGURE "${text}" text @ONLY)
  file(WRITE ${changelog} "${text}")
  find_program(GZIP_PROGRAM gzip REQUIRED)
  execute_process(COMMAND ${GZIP_PROGRAM} -9nf ${changelog} COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${changelog}.gz ${CMAKE_SOURCE_DIR}/deploy/debian/copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

list(APPEND CPACK_COMPONENTS_ALL ppv2_runtime)
set(CPACK_DEBIAN_PPV2_RUNTIME_PACKAGE_NAME libppv2-1)
set(CPACK_DEBIAN_PPV2_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PPV2_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_PPV2_RUNTIME_DESCRIPTION "PROXY protocol library, versions 1 and 2
Decodes, encodes and sniffs the header with which proxies tell whom they
speak for. What a header claims and what a socket shows stay apart, and a map
finds the real peer behind a local connection.")
set(CPACK_DEBIAN_PPV2_RUNTIME_PACKAGE_CONTROL_EXTRA
  ${CMAKE_SOURCE_DIR}/deploy/debian/libppv2-1/triggers ${CMAKE_SOURCE_DIR}/deploy/debian/libppv2-1/symbols)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/deploy/debian/libppv2-1/check_symbols.cmake)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY >=)
ravelin_package_documents(ppv2_runtime libppv2-1)
install(FILES deploy/debian/libppv2-1/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
  RENAME libppv2-1 COMPONENT ppv2_runtime EXCLUDE_FROM_ALL)

list(APPEND CPACK_COMPONENTS_ALL ppv2_dev)
set(CPACK_DEBIAN_PPV2_DEV_PACKAGE_NAME libppv2-dev)
set(CPACK_DEBIAN_PPV2_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PPV2_DEV_PACKAGE_DEPENDS "libppv2-1 (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_PPV2_DEV_DESCRIPTION "PROXY protocol library, versions 1 and 2 - development files
Headers for C++20 and C, the static library, and what find_package and
pkg-config need.")
ravelin_package_documents(ppv2_dev libppv2-dev)

list(APPEND CPACK_COMPONENTS_ALL ppv2_tool)
set(CPACK_DEBIAN_PPV2_TOOL_PACKAGE_NAME ppv2)
set(CPACK_DEBIAN_PPV2_TOOL_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PPV2_TOOL_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_PPV2_TOOL_DESCRIPTION "PROXY protocol headers, versions 1 and 2 - command line tool
Says what a header says, or where and why it is wrong, as text or JSON, and
writes headers.")
ravelin_package_documents(ppv2_tool ppv2)

# ravelin_daemon_package(PROGRAM OTHER SUMMARY DESCRIPTION): the package ravelin-PROGRAM of the component PROGRAM. OTHER is
# the program whose package shares the group and the directory of admin sockets.
function(ravelin_daemon_package program other summary description)
  set(unit ravelin-${program})
  set(other ravelin-${other})
  set(files ${CMAKE_CURRENT_BINARY_DIR}/packages/${unit})
  string(TOUPPER ${program} component)
  set(for_package COMPONENT ${program} EXCLUDE_FROM_ALL)

  foreach(script postinst prerm postrm)
    configure_file(${CMAKE_SOURCE_DIR}/deploy/debian/daemon/${script}.in ${files}/${script} @ONLY
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endforeach()
  file(WRITE ${files}/conffiles "/etc/ravelin/${program}.yaml\n/etc/needrestart/conf.d/${unit}.conf\n")

  # The settings' page is written by the program, from the table that it reads them by.
  find_program(GZIP_PROGRAM gzip REQUIRED)
  configure_file(${CMAKE_SOURCE_DIR}/deploy/man/daemon.8.in ${files}/${program}.8 @ONLY)
  add_custom_command(OUTPUT ${files}/${program}.yaml.5.gz ${files}/${program}.8.gz VERBATIM
    DEPENDS ${program} ${files}/${program}.8
    COMMAND sh -c "$<TARGET_FILE:${program}> --reference man | ${GZIP_PROGRAM} -9n >${files}/${program}.yaml.5.gz"
    COMMAND sh -c "${GZIP_PROGRAM} -9n <${files}/${program}.8 >${files}/${program}.8.gz")
  add_custom_target(${program}_manual_pages ALL DEPENDS ${files}/${program}.yaml.5.gz ${files}/${program}.8.gz)
  install(FILES ${files}/${program}.yaml.5.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 ${for_package})
  install(FILES ${files}/${program}.8.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 ${for_package})

  set(deploy ${CMAKE_SOURCE_DIR}/deploy)
  install(FILES ${deploy}/config/${program}.yaml DESTINATION /etc/ravelin ${for_package})
  install(FILES ${deploy}/systemd/${unit}.service ${deploy}/systemd/${unit}.socket
    DESTINATION /lib/systemd/system ${for_package})
  foreach(place sysusers:/usr/lib/sysusers.d tmpfiles:/usr/lib/tmpfiles.d sysctl:/usr/lib/sysctl.d
          needrestart:/etc/needrestart/conf.d)
    string(REGEX MATCH "^[a-z]+" kind ${place})
    string(REGEX REPLACE "^[a-z]+:" "" folder ${place})
    if(EXISTS ${deploy}/systemd/${unit}.${kind})
      install(FILES ${deploy}/systemd/${unit}.${kind} DESTINATION ${folder} RENAME ${unit}.conf ${for_package})
    endif()
  endforeach()
  ravelin_package_documents(${program} ${unit})
  configure_file(${deploy}/debian/daemon/lintian-overrides.in ${files}/lintian-overrides @ONLY)
  install(FILES ${files}/lintian-overrides DESTINATION /usr/share/lintian/overrides RENAME ${unit} ${for_package})

  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${program} PARENT_SCOPE)
  set(CPACK_COMPONENT_${component}_DESCRIPTION "${summary}\n${description}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME ${unit} PARENT_SCOPE)
  set(CPACK_DEBIAN_${component}_PACKAGE_SECTION net PARENT_SCOPE)
  set(CPACK_DEBIAN_${component}_PACKAGE_SHLIBDEPS ON PARENT_SCOPE)
  set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_STRICT_PERMISSION ON PARENT_SCOPE)
  set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA
    ${files}/postinst ${files}/prerm ${files}/postrm ${files}/conffiles PARENT_SCOPE)
endfunction()

ravelin_daemon_package(redirector gateway "disposable TCP edge in front of an origin"
"Forwards TCP sessions to an origin that nobody has to know, with a PROXY
protocol v2 header in front. Sees ciphertext only and holds no secret.")
ravelin_daemon_package(gateway redirector "front of an origin that lies behind TCP edges"
"Takes the PROXY protocol header off what edges forward, and keeps what it
claims apart from what was measured.")

list(APPEND CPACK_COMPONENTS_ALL ravelinctl)
set(CPACK_DEBIAN_RAVELINCTL_PACKAGE_NAME ravelinctl)
set(CPACK_DEBIAN_RAVELINCTL_PACKAGE_SECTION net)
set(CPACK_DEBIAN_RAVELINCTL_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_RAVELINCTL_DESCRIPTION "control of a TCP edge or an origin's gateway
Shows the sessions of a redirector or a gateway, reloads, upgrades and drains
it.")
ravelin_package_documents(ravelinctl ravelinctl)
set(ctl_page ${CMAKE_CURRENT_BINARY_DIR}/packages/ravelinctl/ravelinctl.8)
configure_file(deploy/man/ravelinctl.8.in ${ctl_page} @ONLY)
find_program(GZIP_PROGRAM gzip REQUIRED)
execute_process(COMMAND ${GZIP_PROGRAM} -9nfk ${ctl_page} COMMAND_ERROR_IS_FATAL ANY)
install(FILES ${ctl_page}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 COMPONENT ravelinctl EXCLUDE_FROM_ALL)

include(CPack)
